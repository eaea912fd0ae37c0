package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestTakenFrom: what has overtaken a missing hand-off does not count.
func TestTakenFrom(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	span := func(from, to int64) Span { return Span{From: at(from), To: at(to)} }
	for name, test := range map[string]struct {
		covered []Span
		want    int64
	}{
		"nothing":                       {nil, 10},
		"all":                           {[]Span{span(10, 30)}, 30},
		"the first is missing":          {[]Span{span(20, 30)}, 10},
		"one in between is missing":     {[]Span{span(10, 20), span(25, 30)}, 20},
		"two are missing":               {[]Span{span(10, 12), span(15, 17), span(20, 30)}, 12},
		"the first, and another behind": {[]Span{span(11, 20), span(25, 30)}, 10},
		"a beginning of no length":      {[]Span{span(10, 10), span(20, 30)}, 10},
	} {
		progress := SourceProgress{Covered: test.covered}
		assert.Equal(t, at(test.want), progress.TakenFrom(at(10)), name)
	}
}
