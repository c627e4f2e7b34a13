"""What checks found: faults, and what was left out. Each check is a program that ends with 1 after a fault."""

import sys


class Findings:
    """Collects faults of one check and tells them at the end."""

    def __init__(self, subject):
        self.subject = subject
        self.faults = []
        self.checked = 0

    def expect(self, condition, fault):
        """Counts one thing that was looked at, and remembers `fault` unless `condition` holds."""
        self.checked += 1
        if not condition:
            self.faults.append(fault)
        return bool(condition)

    def end(self):
        """Prints the result and ends the program with it."""
        for fault in self.faults:
            print(f"  fault: {fault}")
        if not self.checked:
            print("  fault: nothing was checked")
            sys.exit(1)
        print(f"  {self.subject}: {self.checked} checked, {len(self.faults)} faults")
        sys.exit(bool(self.faults))
