import type { Child } from "hono/jsx";
import { Age, shownMs } from "./age.tsx";
import type { SessionAction } from "./port.ts";
import { shownText, shownWord } from "./shown-text.ts";
import type { ExecutionView, SessionView } from "./view.ts";

const MEBIBYTE = 1024 ** 2;

export interface SessionCardProps {
  readonly session: SessionView;
  readonly memoryBytes: number | undefined;
  readonly formToken: string;
  readonly showsCaller: boolean;
  readonly now: number | undefined;
}

/** In these states there is a call to interrupt: one that waits may wait for its client. */
const HAS_CALL: ReadonlySet<SessionView["state"]> = new Set(["running", "waiting"]);

/** Ids are made by us, and still are nothing that a selector or an attribute could trip over. */
export function sessionKey({ id }: SessionView): string {
  return `session-${encodeURIComponent(id).replaceAll("%", "_")}`;
}

export function SessionCard({ session, memoryBytes, formToken, showsCaller, now }: SessionCardProps) {
  const key = sessionKey(session);
  const { id, state, execution } = session;
  return (
    <li id={key} class="card session">
      <article aria-labelledby={`${key}-name`}>
        <header>
          <h3 id={`${key}-name`}>{shownWord(id)}</h3>
          <span class={`state ${state.replace(" ", "-")}`}>{state}</span>
        </header>
        <dl class="facts">
          {showsCaller ? (
            <Fact name="Caller">
              <span>{shownWord(session.callerName, 80)}</span>
            </Fact>
          ) : null}
          <Fact name="Memory">
            <span>{memoryBytes === undefined ? "–" : `${Math.ceil(memoryBytes / MEBIBYTE)} MiB`}</span>
          </Fact>
          <Fact name="Age">
            <Age since={session.openedAt} now={now} />
          </Fact>
          {state === "running" ? null : (
            <Fact name="Idle for">
              <Age since={session.activeAt} now={now} />
            </Fact>
          )}
          <Fact name="Executions">
            <span>{String(session.executions)}</span>
          </Fact>
          {session.queued > 0 ? (
            <Fact name="Waiting">
              <span>{String(session.queued)}</span>
            </Fact>
          ) : null}
        </dl>
        {execution === undefined ? (
          <p class="quiet">Nothing has run yet.</p>
        ) : (
          <Execution execution={execution} name={shownWord(id)} now={now} />
        )}
        <div class="actions">
          <Action session={id} action="interrupt" formToken={formToken} disabled={!HAS_CALL.has(state)} />
          <Confirmed session={id} action="reset" formToken={formToken} key_={key} />
          <Confirmed session={id} action="end" formToken={formToken} key_={key} />
        </div>
      </article>
    </li>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Execution(props: {
  readonly execution: ExecutionView;
  readonly name: string;
  readonly now: number | undefined;
}) {
  const { execution, name, now } = props;
  const { code, codeLeftOut, output } = execution;
  const { pieces, leftOut } = output;
  return (
    <div class="execution">
      <h4>
        Code <Progress execution={execution} now={now} />
      </h4>
      <section class="scroll" tabindex={0} aria-label={`Code of ${name}`}>
        <pre class="code">
          {shownText(code)}
          {codeLeftOut > 0 ? <i>{`\n… ${codeLeftOut} more characters`}</i> : null}
        </pre>
      </section>
      <h4>Output</h4>
      <section class="scroll" tabindex={0} aria-label={`Output of ${name}`} data-follow="end">
        <pre class="output">
          {leftOut > 0 ? <i>{`${leftOut} characters before …\n`}</i> : null}
          {pieces.length === 0 ? <i>none</i> : null}
          {pieces.map(({ stream, text }) => (
            <span class={stream}>{shownText(text)}</span>
          ))}
        </pre>
      </section>
    </div>
  );
}

function Progress(props: { readonly execution: ExecutionView; readonly now: number | undefined }) {
  const { startedAt, outcome, durationMs = 0 } = props.execution;
  if (startedAt === undefined) return <span class="quiet">waits for the sandbox</span>;
  if (outcome !== undefined) {
    return <span class={`outcome ${outcome}`}>{`${outcome}, ${shownMs(durationMs)}`}</span>;
  }
  return (
    <span class="quiet">
      running for <Age since={startedAt} now={props.now} />
    </span>
  );
}

const WORDS = {
  interrupt: { button: "Interrupt", sure: "" },
  reset: { button: "Reset", sure: "Its variables are lost. The session goes on with a fresh Python." },
  end: { button: "End", sure: "The session, its variables and its sandbox are gone." },
} as const satisfies Record<SessionAction, { readonly button: string; readonly sure: string }>;

interface ActionProps {
  readonly session: string;
  readonly action: SessionAction;
  readonly formToken: string;
}

function Action({
  session,
  action,
  formToken,
  disabled = false,
}: ActionProps & { readonly disabled?: boolean }) {
  return (
    <form method="post" action="/dashboard/act" data-act="">
      <input type="hidden" name="token" value={formToken} />
      <input type="hidden" name="session" value={session} />
      <input type="hidden" name="action" value={action} />
      <button
        type="submit"
        class={action}
        disabled={disabled}
        aria-label={`${WORDS[action].button} ${shownWord(session)}`}
      >
        {WORDS[action].button}
      </button>
    </form>
  );
}

/** Asks before it acts, without any script. */
function Confirmed({ key_, ...props }: ActionProps & { readonly key_: string }) {
  const { button, sure } = WORDS[props.action];
  return (
    <details id={`${key_}-${props.action}`}>
      <summary aria-label={`${button} ${shownWord(props.session)} …`}>{button} …</summary>
      <div class="sure">
        <p>{sure}</p>
        <Action {...props} />
      </div>
    </details>
  );
}
