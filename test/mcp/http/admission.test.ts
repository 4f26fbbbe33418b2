import { expect, test } from "bun:test";
import { Admission } from "../../../src/mcp/http/admission.ts";

test("EXH-19: a caller has no more than its share, all together no more than there is, and places come back once", () => {
  const admission = new Admission({ total: 5, perCaller: 3 });
  const enter = (caller: string) => admission.enter(caller);
  const places = [enter("ada"), enter("ada"), enter("ada")];
  expect(enter("ada")).toBe("caller");
  expect([enter("ben"), enter("ben")].every((place) => typeof place === "function")).toBe(true);
  expect([enter("ben"), enter("eve"), admission.open]).toEqual(["total", "total", 5]);
  const [first] = places;
  if (typeof first !== "function") throw new Error("no place");
  first();
  first();
  expect(admission.open).toBe(4);
  expect(typeof enter("eve")).toBe("function");
  expect(enter("ada")).toBe("total");
});
