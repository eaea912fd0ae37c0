package kv_test

import (
	"testing"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// named keeps what a benchmark makes: a name that nobody looks at need not be made.
var named string

// BenchmarkKey: the name of a record, which every read and write needs, of an ID that can stand as it is and of one that
// cannot; and the way back.
func BenchmarkKey(b *testing.B) {
	for _, id := range []string{"daily-report", "daily report/été"} {
		key := schedule.Key{Namespace: "default", ID: id}
		const request = "f3f1987a-f6ab-57e8-a142-dd1fa14071da"
		backfill := kv.Backfill(key, request)
		for _, record := range []struct {
			name string
			run  func()
		}{
			{"Invoker", func() { named = kv.Invoker(key).String() }},
			{"Backfill", func() { named = kv.Backfill(key, request).String() }},
			{"BackfillID", func() { named = kv.BackfillID(backfill) }},
		} {
			b.Run(record.name+"/"+id, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					record.run()
				}
			})
		}
	}
}
