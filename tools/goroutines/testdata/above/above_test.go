package above

import "testing"

func TestRun(*testing.T) { Run() }
