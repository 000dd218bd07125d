"""What a test reads off the page: the ops that are drawn, selected or marked."""

FRAMES = """() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"""


def settle(tab, milliseconds=60):
    """What was asked for is drawn: some time has passed, and two frames, however busy it is."""
    tab.wait_for_timeout(milliseconds)
    tab.evaluate(FRAMES)


def drawn(tab):
    settle(tab, 60)
    return [int(one.get_attribute("data-op")) for one in tab.query_selector_all("[data-op]")]


def selected(tab):
    settle(tab, 60)
    found = tab.query_selector("#graph .op.selected")
    return None if found is None else int(found.get_attribute("data-op"))


def with_class(tab, name):
    settle(tab, 60)
    found = tab.query_selector_all(f"#graph .op.{name}")
    return sorted(int(one.get_attribute("data-op")) for one in found)


def row_of(tab, line):
    return tab.locator(f'#source .line:has(.number:text-is("{line}"))')
