package request

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// MaxWrites bounds the attempts of a request to write a record that others write at the same time. One of all concurrent writers succeeds
// each round, so it also bounds how many concurrent changes of one record are sure to succeed.
const MaxWrites = 128

// Origin is what a request says about itself, beside what it asks for.
type Origin struct {
	// Now is when the request is worked on, in UTC.
	Now time.Time
	// Identity is who asks; RequestID is the key that makes the request idempotent; Trace is the W3C traceparent. All may be empty.
	Identity, RequestID, Trace string
}

// OriginOf returns the origin of the request whose context is ctx. The identity is the one that [WithIdentity] has put there.
func OriginOf(ctx context.Context, now time.Time, requestID string) Origin {
	return Origin{Now: now.UTC(), Identity: IdentityOf(ctx), RequestID: requestID, Trace: telemetry.Traceparent(ctx)}
}

type identityKey struct{}

// WithIdentity puts the value of the identity header (schedule.HeaderIdentity) into the context of a request, as one line of at most
// schedule.MaxIDBytes. A request is never refused because of the name of its caller.
func WithIdentity(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, identityKey{}, cleanIdentity(header))
}

// IdentityOf returns who makes the request whose context is ctx; empty if the caller has not said it.
func IdentityOf(ctx context.Context) string {
	identity, _ := ctx.Value(identityKey{}).(string)
	return identity
}

// cleanIdentity makes one line of at most schedule.MaxIDBytes of whatever a header holds.
func cleanIdentity(header string) string {
	header = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r // bytes that are not UTF-8 have become U+FFFD
	}, header)
	return strings.TrimSpace(Cut(header, schedule.MaxIDBytes))
}

// Cut returns the beginning of a text in at most limit bytes, without half a character at the end.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// CheckToken refuses a request that was made from another version of a thing, a schedule for example, than the present one. A request
// without a token (0) takes whatever version there is. The error has the code failed_precondition.
func CheckToken(thing string, version, token uint64) error {
	if token == 0 || token == version {
		return nil
	}
	return &schedule.Error{
		Code: schedule.CodeFailedPrecondition, Field: "conflictToken",
		Message: fmt.Sprintf("%d is stale, the %s has been changed since and is at %d: "+
			"describe it again and look whether the change still fits", token, thing, version),
	}
}

// space is the UUID namespace of derived IDs. It must never change: the protection of a repeated request depends on it.
var space = uuid.MustParse("0c3e4d0e-3b54-4b1f-9f0e-6f1f0a1d7c52")

// DerivedID returns the UUID of what a request makes, a trigger or a bulk operation for example. A repeat of the request, with the same
// text, gets the same ID.
func DerivedID(text string) string { return uuid.NewSHA1(space, []byte(text)).String() }

// OneLine makes text safe for a header, and for a message of one line: it replaces control characters by spaces.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return ' '
		}
		return r
	}, text)
}
