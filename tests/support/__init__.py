"""What tests share: fakes, example studies, sessions."""
