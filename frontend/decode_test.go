package frontend

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Whatever the body of a request is, reading it as a request of any verb does not panic. It gives an error for the caller, or a
// request that stays the same when written and read again.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		createSeed, `{"id":"x","conflictToken":18446744073709551615,"requestId":"r"}`,
		`{"pageSize":1000,"pageToken":"AWE","prefix":"a"}`,
		`{"id":"x","start":"2026-03-01T00:00:00Z","end":"2026-03-02T00:00:00+01:00","overlap":"skip"}`, `{"id":"x","times":[null]}`,
		`{"limits":{"requestsPerSecond":1e-3}}`, `[]`, ``, `{"id":{"id":1}}`,
	} {
		f.Add(false, []byte(seed))
		if packed, err := apitext.EncodeMsgpack(json.RawMessage(seed)); err == nil {
			f.Add(true, packed)
		}
	}
	endpoints := endpoints(&schedules.Service{})
	f.Fuzz(func(t *testing.T, packed bool, body []byte) {
		form := formatJSON
		if packed {
			form = formatMsgpack
		}
		seen := map[reflect.Type]bool{}
		for _, e := range endpoints {
			if !seen[e.handle.request] {
				seen[e.handle.request] = true
				readRequest(t, e.handle.request, form, body)
			}
		}
	})
}

const createSeed = `{"id":"x","spec":{"calendars":[{"hour":9,"dayOfWeek":"mon-fri"}],"intervals":[{"every":"90s"}],` +
	`"cron":["@daily"],"at":["2026-03-01T09:00:00Z"],"timeZoneData":"AAAA","jitter":"1m"},"action":{"type":"t","taskQueue":"q",` +
	`"input":[1.5,-0,1e400,null],"memo":{"a":{}},"retryPolicy":{"backoffCoefficient":2.5}},"state":{"paused":true},` +
	`"backfills":[{"start":"2026-03-01T09:00:00Z"}]}`

func readRequest(t *testing.T, kind reflect.Type, form *bodyFormat, body []byte) {
	t.Helper()
	var requests []any
	for range 3 {
		request := reflect.New(kind)
		err := form.decode(body, request.Interface())
		if err != nil {
			require.Empty(t, requests, "what was written can be read: %s", err)
			requireTold(t, err)
			return
		}
		requireTold(t, request.Interface().(interface{ Validate() error }).Validate())
		requests = append(requests, request.Interface())
		body, err = form.encode(request.Interface())
		require.NoError(t, err)
	}
	// Numbers in raw JSON may change the first time, if msgpack has none like them.
	require.Equal(t, requests[1], requests[2])
	if form == formatJSON {
		require.Equal(t, requests[0], requests[1])
	}
}

// requireTold checks that an error, if there is one, is one for callers.
func requireTold(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var told *schedule.Error
	require.True(t, errors.As(err, &told), "%T: %v", err, err)
	require.Equal(t, schedule.CodeInvalidArgument, told.Code, told.Error())
}
