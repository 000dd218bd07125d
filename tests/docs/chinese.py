"""The table of docs/zh/syntax.md: each construct of docs/syntax.md with its status, in Chinese."""

from __future__ import annotations

from tests.docs.constructs import GROUPS
from tests.docs.syntax import anchor, status

GROUP_TITLES = {
    "Branches": "分支",
    "Loops": "循环",
    "Jumps": "跳转",
    "Logic and comparisons": "逻辑与比较",
    "Numbers and text": "数值与文本",
    "Errors": "异常与上下文",
    "Functions": "函数与类",
    "Variables": "变量",
    "Lists, dicts, sets": "列表、字典、集合",
    "Tensors": "张量",
}
TITLES = {
    "walrus `:=`": "海象运算符 `:=`",
    "`while True` with `break`": "带 `break` 的 `while True`",
    "`for` over a dict's items, keys or values": "遍历字典的 `items`、`keys`、`values`",
    "`for … in reversed(…)` or `sorted(…)`": "`for … in reversed(…)`、`sorted(…)`",
    "loops in loops": "嵌套循环",
    "`return` in a loop": "循环中的 `return`",
    "early `return`": "提前 `return`",
    "chained comparison": "链式比较",
    "Python arithmetic and augmented assignment": "Python 算术与增量赋值",
    "functions in functions": "嵌套函数",
    "generators": "生成器",
    "methods, `super()`, modules": "方法、`super()`、模块",
    "calls of functions and methods": "函数与方法调用",
    "unpacking": "解包",
    "attributes that are set": "属性赋值",
    "None on some paths": "部分路径上为 None 的变量",
    "list displays": "列表字面量",
    "dict displays and items": "字典字面量与元素",
    "sets": "集合",
    "comprehensions": "推导式",
    "generator expressions": "生成器表达式",
    "slices": "切片",
    "items and slices that are set": "元素与切片赋值",
    "methods that write in place": "原地操作的方法",
    "sizes: `.shape`, `.size()`": "形状：`.shape`、`.size()`",
    "`stack`, `cat` of lists": "对列表使用 `stack`、`cat`",
    "data-dependent shapes: `nonzero`, masks": "依赖数据的形状：`nonzero`、掩码",
    "operators on tensors": "张量运算符",
}
STATUSES = {"supported": "支持", "supported, see its limits": "支持，有限制", "pending": "待支持"}


def table() -> str:
    """A table for each group; a title links to its section in docs/syntax.md."""
    parts = []
    for group, constructs in GROUPS.items():
        parts += [f"### {GROUP_TITLES[group]}", "", "| 语法 | 状态 |", "|---|---|"]
        for one in constructs:
            title = TITLES.get(one.title, one.title)
            parts.append(
                f"| [{title}](../syntax.md#{anchor(one.title)}) | {STATUSES[status(one)]} |"
            )
        parts.append("")
    return "\n".join(parts)
