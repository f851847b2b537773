// Package sagatest runs the tests of a saga's author: what happens to an
// instance, and what it should come to, in a file of YAML.
//
//	saga: order.yaml
//	cases:
//	  - name: a payment that fails gives the goods back
//	    given:
//	      - event: {type: OrderPlaced, payload: {total: 5}}
//	    then:
//	      - result: {step: reserve, payload: {reservation: r-1}}
//	        expect: {state: paying}
//	      - after: 30m
//	        expect: {status: compensating}
//
// Nothing is run but the machine: no stream, no board, no effect. Time moves when
// the file says so, and timers come when it passes them.
package sagatest
