package handler

import "testing"

func TestServe(*testing.T) {}
