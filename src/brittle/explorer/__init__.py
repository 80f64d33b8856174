"""The page people play with: a local web app over models, pictures and results."""
