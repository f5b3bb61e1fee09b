"""`python -m uptack.audit`."""

import sys

from uptack.audit.audit_report import main

if __name__ == "__main__":
    sys.exit(main())
