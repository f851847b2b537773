package object

import "testing"

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing is null", "", "null"},
		{"space goes", " [ 1 , true , null ] ", "[1,true,null]"},
		{"keys are sorted, also inside", `{"b":{"d":1,"c":2},"a":0}`, `{"a":0,"b":{"c":2,"d":1}}`},
		{"a float that is an int", "1.0", "1"},
		{"with an exponent", "1e3", "1000"},
		{"minus zero", "-0.0", "0"},
		{"a float", "0.10", "0.1"},
		{"a large int keeps its digits", "9223372036854775807", "9223372036854775807"},
		{"a larger one is a float", "9223372036854775808", "9.223372036854776e+18"},
		{"escapes", `"\u0041\/\n"`, `"A/\n"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := canonical([]byte(tt.in))
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
			if again, err := canonical([]byte(got)); err != nil || again != got {
				t.Errorf("again: got %s, %v", again, err)
			}
		})
	}
	if _, err := canonical([]byte("{")); err == nil {
		t.Error("half an object was taken")
	}
}
