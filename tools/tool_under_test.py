"""Loads a script of this folder that has no .py suffix as a module, for its tests."""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load(script):
    sys.dont_write_bytecode = True
    name = script.replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
