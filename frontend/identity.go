package frontend

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// origin is what a request says of itself, beside what it asks for.
type origin struct {
	// now is when it is worked on, in UTC.
	now time.Time
	// identity is who asks, requestID the key that makes it idempotent, trace the W3C traceparent. All may be empty.
	identity, requestID, trace string
}

func (a *api) origin(ctx context.Context, requestID string) origin {
	return origin{now: a.now().UTC(), identity: identityOf(ctx), requestID: requestID, trace: telemetry.Traceparent(ctx)}
}

type identityKey struct{}

// withIdentity puts the value of the identity header into the context of a request.
func withIdentity(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, identityKey{}, cleanIdentity(header))
}

func identityOf(ctx context.Context) string {
	identity, _ := ctx.Value(identityKey{}).(string)
	return identity
}

// cleanIdentity makes one line of at most schedule.MaxIDBytes of whatever a header holds. A request is not refused for how
// its caller is called.
func cleanIdentity(header string) string {
	header = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r // what is no UTF-8 has become U+FFFD
	}, header)
	return strings.TrimSpace(cut(header, schedule.MaxIDBytes))
}

// cut returns the beginning of a text in at most limit bytes, without half a character at the end.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
