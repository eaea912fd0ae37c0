package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type typedError struct{}

func (typedError) Error() string     { return "typed" }
func (typedError) ErrorType() string { return "card_declined" }

type plainError struct{}

func (*plainError) Error() string { return "plain" }

func TestFailureOf(t *testing.T) {
	t.Parallel()
	_, missing := os.Stat("no such file")
	for name, test := range map[string]struct {
		err     error
		typ     string
		message string
		details string
		final   bool
	}{
		"nameless":            {err: errors.New("oh"), typ: "error", message: "oh"},
		"wrapped nameless":    {err: fmt.Errorf("a: %w", errors.New("b")), typ: "error", message: "a: b"},
		"joined":              {err: errors.Join(errors.New("a"), errors.New("b")), typ: "error", message: "a\nb"},
		"Go type":             {err: &plainError{}, typ: "worker.plainError", message: "plain"},
		"wrapped Go type":     {err: fmt.Errorf("a: %w", &plainError{}), typ: "worker.plainError", message: "a: plain"},
		"standard library":    {err: missing, typ: "fs.PathError", message: missing.Error()},
		"says its type":       {err: fmt.Errorf("a: %w", typedError{}), typ: "card_declined", message: "a: typed"},
		"Error":               {err: &Error{Type: "t", Message: "m", Details: map[string]int{"n": 1}}, typ: "t", message: "m", details: `{"n":1}`},
		"Error without type":  {err: &Error{Message: "m"}, typ: "error", message: "m"},
		"Error with cause":    {err: &Error{Type: "t", Message: "m", Err: fs.ErrExist}, typ: "t", message: "m: file already exists"},
		"Error of cause only": {err: &Error{Type: "t", Err: fs.ErrExist}, typ: "t", message: "file already exists"},
		"final Error":         {err: fmt.Errorf("a: %w", &Error{Type: "t", Message: "m", NonRetryable: true}), typ: "t", message: "a: m", final: true},
		"marked":              {err: NonRetryable(errors.New("oh")), typ: "error", message: "oh", final: true},
		"marked type":         {err: fmt.Errorf("a: %w", NonRetryable(&plainError{})), typ: "worker.plainError", message: "a: plain", final: true},
		"invalid input":       {err: InvalidInput("no %s", "way"), typ: TypeInvalidInput, message: "no way", final: true},
		"context":             {err: context.Canceled, typ: "error", message: "context canceled"},
		"cancel":              {err: ErrCanceled, typ: TypeCanceled, message: "the run was asked to cancel"},
		"silence":             {err: ErrHeartbeatTimeout, typ: TypeHeartbeatTimeout, message: "the attempt has shown no sign of life"},
		"wrapped cancel":      {err: fmt.Errorf("a: %w", ErrCanceled), typ: "error", message: "a: worker: the run was asked to cancel"},
		"bad details":         {err: &Error{Type: "t", Message: "m", Details: func() {}}, typ: "t", message: "m"},
		"large details":       {err: &Error{Type: "t", Message: "m", Details: strings.Repeat("x", maxDetailBytes)}, typ: "t", message: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure, final := failureOf(test.err)
			assert.Equal(t, test.typ, failure.Type)
			assert.Equal(t, test.message, failure.Message)
			assert.Equal(t, test.details, string(failure.Details))
			assert.Equal(t, test.final, final)
		})
	}
}

func TestNonRetryableOfNothing(t *testing.T) {
	t.Parallel()
	assert.NoError(t, NonRetryable(nil))
}

func TestFailureOfPanicHasStack(t *testing.T) {
	t.Parallel()
	out := <-invoke(t.Context(), func(context.Context, *Run) (any, error) { panic("no") }, &Run{}, MaxResultBytes)
	failure, final := out.failure, out.final
	assert.Equal(t, TypePanic, failure.Type)
	assert.Equal(t, "panic: no", failure.Message)
	assert.Contains(t, string(failure.Details), "TestFailureOfPanicHasStack")
	assert.LessOrEqual(t, len(failure.Details), maxDetailBytes)
	assert.False(t, final)
}

func TestLongMessagesAreCut(t *testing.T) {
	t.Parallel()
	failure, _ := failureOf(errors.New(strings.Repeat("ü", maxMessageBytes)))
	assert.LessOrEqual(t, len(failure.Message), maxMessageBytes)
	assert.Greater(t, len(failure.Message), maxMessageBytes-8)
	assert.True(t, utf8.ValidString(failure.Message))
	assert.True(t, strings.HasSuffix(failure.Message, "…"))
}

func TestEncodeResult(t *testing.T) {
	t.Parallel()
	data, failure := encodeResult(nil, 10)
	assert.Nil(t, data)
	assert.Nil(t, failure)

	data, failure = encodeResult(map[string]int{"n": 1}, 10)
	assert.JSONEq(t, `{"n":1}`, string(data))
	assert.Nil(t, failure)

	_, failure = encodeResult("12345678", 10)
	assert.Nil(t, failure)
	_, failure = encodeResult("123456789", 10)
	require.NotNil(t, failure)
	assert.Equal(t, TypeResultTooLarge, failure.Type)
	assert.Contains(t, failure.Message, "11 bytes")
	assert.Contains(t, failure.Message, "reference")

	_, failure = encodeResult(func() {}, 10)
	require.NotNil(t, failure)
	assert.Equal(t, TypeInvalidResult, failure.Type)
}
