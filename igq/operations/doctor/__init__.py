"""``igq doctor``: looks at everything that an operator would, and says for each finding what to do."""
