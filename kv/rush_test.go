package kv

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRush(t *testing.T) {
	t.Parallel()
	type second struct {
		at    int  // in seconds
		reads int  // of two records each
		rush  bool // whether all of them are told of one
	}
	tests := map[string][]second{
		"few":                      {{0, 749, false}, {1, 749, false}, {2, 1, false}},
		"many":                     {{0, 750, false}, {1, 750, true}, {2, 1, true}, {3, 1, false}},
		"many in the next second":  {{0, 750, false}, {1, 749, true}, {2, 1, false}},
		"many in another second":   {{0, 750, false}, {2, 1, false}},
		"many, then nothing":       {{0, 750, false}, {1, 750, true}, {60, 1, false}},
		"one that comes too late":  {{7, 750, false}, {6, 1, false}, {8, 1, true}},
		"one too late in a rush":   {{0, 750, false}, {1, 400, true}, {0, 1, true}, {1, 349, true}, {2, 1, true}},
		"the first after long":     {{100, 750, false}, {101, 1, true}},
		"again":                    {{0, 750, false}, {1, 1, true}, {2, 750, false}, {3, 1, true}},
		"not reached, over two":    {{0, 500, false}, {1, 500, false}, {2, 500, false}},
		"more than that is enough": {{0, 5_000, false}, {1, 5_000, true}},
	}
	for name, seconds := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r rush
			for _, s := range seconds {
				for i := range s.reads {
					at := time.Duration(s.at)*time.Second + time.Duration(i)*time.Second/time.Duration(s.reads)
					assert.Equal(t, s.rush, r.read(2, at), "read %d of second %d", i, s.at)
				}
			}
		})
	}
}
