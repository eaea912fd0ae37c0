package natstest

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/carillon-scheduler/carillon/subjects"
)

var prefixes atomic.Int64

// Names returns names under a prefix no other test of the process has. The prefix begins with the name of the test.
func Names(t testing.TB) subjects.Names {
	t.Helper()
	names, err := subjects.New(prefix(t.Name(), prefixes.Add(1)))
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	return names
}

func prefix(test string, number int64) string {
	const longest = 20
	word := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, strings.TrimPrefix(test, "Test"))
	return word[:min(len(word), longest)] + "-" + strconv.FormatInt(number, 36)
}
