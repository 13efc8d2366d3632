"""The reference, from the code: what each system, model, key and function is.

`headroom describe` prints its parts, and the site of the documents has them as pages.
"""
