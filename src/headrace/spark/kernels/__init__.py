"""The kernels that Python calls: which of them a configuration needs, whether they are compiled,
and their compilation, once per installation."""
