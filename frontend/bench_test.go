package frontend

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkRequest decodes and validates a request, and encodes its reply. It does not carry out the request.
func BenchmarkRequest(b *testing.B) {
	const requestID = "f3f1987a-f6ab-57e8-a142-dd1fa14071da"
	key, now := schedule.Key{Namespace: "default", ID: "report"}, time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	created := schedule.Description{
		ID: key.ID, Schedule: scheduletest.Ordinary(), ConflictToken: 1, Info: schedule.Info{CreateTime: now},
	}
	for _, request := range []struct {
		verb   string
		body   any
		handle handler
	}{
		{"create", schedule.CreateRequest{ID: key.ID, Schedule: scheduletest.Ordinary(), RequestID: requestID}, writes(
			func(context.Context, string, *schedule.CreateRequest) (schedule.Description, error) {
				return created, nil
			})},
		{"trigger", schedule.TriggerRequest{ID: key.ID, RequestID: requestID}, writes(
			func(context.Context, string, *schedule.TriggerRequest) (schedule.TriggerReply, error) {
				return schedule.TriggerReply{ID: key.ID, TriggerID: requestID}, nil
			})},
	} {
		body, err := apitext.EncodeJSON(request.body)
		require.NoError(b, err)
		b.Run(request.verb+"/decode", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := request.handle.answer(b.Context(), key.Namespace, body, apitext.DecodeJSON); err != nil {
					b.Fatal(err)
				}
			}
		})
		reply, err := request.handle.answer(b.Context(), key.Namespace, body, apitext.DecodeJSON)
		require.NoError(b, err)
		b.Run(request.verb+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = apitext.EncodeJSON(reply)
			}
		})
	}
}
