"""Test points for scripts without a test framework: functions named test_*, one TAP line each."""
import traceback


class Skip(Exception):
    """Raised by a test that cannot run here; says why."""


def run(namespace):
    """Runs every test_* function in the order of the file; returns the exit status."""
    tests = [(name, value) for name, value in namespace.items() if name.startswith("test_") and callable(value)]
    print("1..%d" % len(tests), flush=True)
    failed = 0
    for number, (name, function) in enumerate(tests, 1):
        label = "%d - %s" % (number, name[5:].replace("_", " "))
        try:
            function()
            print("ok " + label, flush=True)
        except Skip as reason:
            print("ok %s # SKIP %s" % (label, reason), flush=True)
        except Exception:
            failed += 1
            print("not ok " + label)
            for line in traceback.format_exc(limit=-2).rstrip().splitlines():
                print("# " + line[:2000], flush=True)
    return 1 if failed else 0
