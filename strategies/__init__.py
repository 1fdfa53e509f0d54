"""One decision each: strategies return a policy for every hand; the match store keeps what they decided."""
