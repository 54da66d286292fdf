from onkel.combine.auto.auto import Auto

__all__ = ["Auto"]
