"""Functions are loaded when they are asked for: by several threads, and beside packages with the same names."""

import subprocess
import sys
import textwrap


def test_functions_are_loaded_by_two_threads_at_once():
    tried = """
        import threading, time
        from uptack.registry import declared, find

        one = threading.Thread(target=find, args=("kde",), daemon=True)
        other = threading.Thread(target=declared, daemon=True)
        one.start()
        time.sleep(0.05)
        other.start()
        one.join(250)
        other.join(250)
        print(one.is_alive() or other.is_alive())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(tried)], capture_output=True, text=True, timeout=600)
    assert done.stdout == "False\n", done.stderr


def test_a_function_of_a_name_is_the_same_before_and_after_all_are_loaded():
    tried = """
        from uptack.registry import declared, find, names, release

        class Point:
            def load(self):
                def median(x, *, epsilon):
                    "Another one."
                release()(median)

        names.entry_points = lambda group: [Point()]
        before = find("median")
        try:
            declared()
        except ValueError as refused:
            print(refused)
        print(before is find("median"))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(tried)], capture_output=True, text=True, timeout=600)
    said = "the name of __main__.median must be new, got 'median', which uptack.statistics.quantiles.median has."
    assert done.stdout == f"{said} One of the two needs another.\nTrue\n", done.stderr


def test_names_are_ours_also_where_another_package_is_imported_first():
    """Ours failed to be imported then, and with it whatever needs it."""
    tried = """
        from uptack.registry import release

        for name, also in (("median", ""), ("other", "regression")):
            def function(x, *, epsilon):
                "Another one."
            function.__name__, function.__module__ = name, "stranger"
            try:
                release(also=also)(function)
            except ValueError as refused:
                print(refused)
        import uptack
        print(uptack.median([1.0] * 3000, epsilon=1).value)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(tried)], capture_output=True, text=True, timeout=600)
    said = "the name of stranger.{} must be new, got {!r}, which uptack.{} has. One of the two needs another.\n"
    refused = said.format("median", "median", "statistics.quantiles.median")
    refused += said.format("other", "regression", "regression.linear.linear_regression")
    assert done.stdout == f"{refused}1.0\n", done.stderr
