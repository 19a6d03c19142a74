"""What several layers need: probabilities with both tails, special functions, isotonic regression, safe scaling."""
