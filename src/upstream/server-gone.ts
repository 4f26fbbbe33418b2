/** Nothing can be sent: the server has ended, or is ending. */
export class ServerGone extends Error {
  override readonly name = "ServerGone";
}
