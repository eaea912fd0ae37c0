package kv

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkParseSubjects: the answer of NATS that lists the definitions of a namespace, of which there may be very many.
func BenchmarkParseSubjects(b *testing.B) {
	const count = 1000
	counts := map[string]int{}
	for i := range count {
		key := schedule.Key{Namespace: "default", ID: fmt.Sprintf("daily-report-%06d", i)}
		counts["$KV.carillon-state-0."+subjects.StateKey(key, subjects.KindDefinition)] = 1
	}
	data, err := json.Marshal(map[string]any{"total": count, "state": map[string]any{"subjects": counts}})
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		names, _, err := parseSubjects(data)
		if err != nil || len(names) != count {
			b.Fatal(len(names), err)
		}
	}
}
