"""`try`: Python's where Python knows what is raised, recorded where only a run does."""

import pytest
import torch

import stator
from tests.capture.oracle import check

ONE, MANY, NONE = torch.ones(1), torch.full((1,), 9.0), -torch.full((1,), 9.0)


class TooLarge(ValueError):
    """A class of the user's own."""


def halved(x):
    if x.sum() > 5:
        raise TooLarge("large")
    if x.sum() < -5:
        raise KeyError("small")
    return x / 2


def test_the_handler_of_the_class_that_is_raised_runs():
    def f(x):
        try:
            y = halved(x)
        except TooLarge:
            y = -x
        except (KeyError, IndexError):
            y = x * 0
        else:
            y = y + 1
        return y

    check(f, (ONE,), (MANY,), (NONE,))


def test_an_exception_that_no_handler_names_passes_through():
    def f(x):
        try:
            y = halved(x)
        except ZeroDivisionError:
            y = x
        return y

    static = stator.to_static(f)
    assert torch.equal(static(ONE), f(ONE))
    with pytest.raises(TooLarge, match="large"):
        static(MANY)


def test_an_error_of_an_op_is_caught_where_it_happens():
    def f(x, k):
        try:
            return x[int(k)]
        except IndexError:
            return x.sum()

    check(f, (MANY, torch.tensor(0)), (MANY, torch.tensor(7)), (MANY, torch.tensor(-1)))


def test_an_assertion_is_caught():
    def f(x):
        try:
            assert x.min() > 0, "negative"
            y = x.log()
        except AssertionError:
            y = x.abs()
        finally:
            x = x + 1
        return y + x

    check(f, (ONE,), (NONE,))


def test_a_name_that_changes_after_the_last_raise_is_known_in_the_handler():
    def f(x):
        count = 0
        for row in x:
            try:
                if row > 3:
                    raise ValueError
                count = count + 1
            except ValueError:
                continue
        return count

    check(f, (torch.tensor([1.0, 5.0, 2.0]),), (torch.tensor([9.0, 9.0, 9.0]),))


def test_a_handler_finds_the_names_as_they_were_where_the_body_raised():
    def f(x):
        y = x
        try:
            y = x * 2
            if x.sum() > 5:
                raise ValueError
        except ValueError:
            pass
        return y + 1

    check(f, (ONE,), (MANY,))


def test_a_handler_finds_what_a_loop_in_the_body_had_reached():
    def f(x):
        total, k = x * 0, None
        try:
            for k in range(5):
                total = total + x * (k + 1)
                if total.sum() > 10:
                    raise ValueError
        except ValueError:
            return total, k
        return k, total

    check(f, (ONE,), (MANY,), (NONE,))


def test_an_op_that_raises_by_itself_finds_the_names_too():
    def f(x):
        y = x
        try:
            y = x * 3
            z = 1 / int(x.sum())
        except ZeroDivisionError:
            z = 7.5
        return y, z

    check(f, (ONE,), (torch.zeros(1),))


def test_a_bare_raise_and_a_raise_of_the_caught_exception_raise_it_again():
    def bare(x):
        try:
            return halved(x)
        except ValueError:
            print("seen")
            raise

    def named(x):
        try:
            return halved(x)
        except ValueError as error:
            raise error

    def chained(x):
        try:
            return halved(x)
        except LookupError as error:
            raise RuntimeError(f"no: {error}") from error

    for function in (bare, named, chained):
        check(function, (ONE,), (MANY,), (NONE,))


def test_the_class_and_the_text_of_a_caught_exception_are_known_to_the_run():
    def f(x):
        try:
            return halved(x), "fine"
        except Exception as error:  # noqa: BLE001 (this is what is tested)
            kind = 1 if isinstance(error, TooLarge) else 2 if isinstance(error, LookupError) else 3
            return x * kind, f"{type(error).__name__}: {error}"

    check(f, (ONE,), (MANY,), (NONE,))


def test_a_handler_knows_the_arguments_of_an_exception():
    def f(x):
        try:
            y = halved(x)
        except ValueError as error:
            y = x * len(error.args)
        return y

    def of_its_own(x):
        try:
            y = halved(x)
        except ValueError as error:
            y = x * len(error.with_traceback(None).args)
        return y

    check(f, (ONE,), (MANY,))
    check(of_its_own, (ONE,), (MANY,))


def test_an_attribute_that_the_caught_exception_does_not_have_is_an_error():
    def f(x):
        try:
            y = halved(x)
        except ValueError as error:
            y = x * error.amount
        return y

    with pytest.raises(AttributeError, match="no attribute 'amount'"):
        stator.to_static(f)(MANY)


def test_what_python_itself_raises_is_handled_by_python():
    def f(x):
        try:
            k = int("no number")
        except ValueError as error:
            k = len(str(error))
        return x * k

    check(f, (ONE,))
    static = stator.to_static(f)
    static(ONE)
    assert "stator::try" not in str(static.program)


def test_a_recorded_try_is_saved(tmp_path):
    def f(x):
        try:
            y = halved(x)
        except TooLarge:
            y = -x
        return y

    stator.save(f, tmp_path / "model", input_spec=[ONE])
    again = stator.load(tmp_path / "model")
    assert torch.equal(again(ONE), f(ONE))
    assert torch.equal(again(MANY), f(MANY))
    with pytest.raises(KeyError):
        again(NONE)
