/** Python that writes into every pipe of its process but its own streams, the one to the supervisor among them. */
export const FORGERY = `
import os, json, signal
def pipes():
    streams = [os.fstat(fd).st_ino for fd in (1, 2)]
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("pipe:") and os.fstat(int(name)).st_ino not in streams: yield int(name)
        except OSError: pass
def forge(*lines, end="\\n"):
    for fd in pipes():
        for line in lines:
            try: os.write(fd, (line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))).encode() + end.encode())
            except OSError: break`;
