package words

import "testing"

func TestStatus(*testing.T) {}
