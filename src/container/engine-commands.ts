/** Removes a container by its name or id, also one that runs, with the volumes that it has of its own. */
export function removal(container: string): readonly string[] {
  return ["rm", "--force", "--volumes", container];
}

/** Lists the ids of the containers that a filter of the engine fits, one a line, also of those that have ended. */
export function listing(filter: string): readonly string[] {
  return ["ps", "--all", "--quiet", "--filter", filter];
}

/** The filter for the one container of that name. */
export function named(name: string): string {
  return `name=^${name}$`;
}
