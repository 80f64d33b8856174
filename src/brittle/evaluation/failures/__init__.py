"""At which severity a model fails: searched on the continuous axis, summed up, and for one photograph."""
