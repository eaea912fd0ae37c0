package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Handle registers a function whose input and result have types of their own: w.Register(actionType, [HandlerOf](handle)). It panics as
// Register does.
func Handle[I, O any](w *Worker, actionType string, handle func(ctx context.Context, input I) (O, error)) {
	w.Register(actionType, HandlerOf(handle))
}

// HandlerOf makes a handler of a function whose input and result have types of their own. [FromContext] gives the function the rest of the
// run.
//
// Input and result are JSON, read and written by encoding/json. An input that does not fit I ends the run as failed, with type
// TypeInvalidInput; it is not retried. Fields that I does not have are ignored. If the run has no input, the function gets the zero I.
// Three types are special:
//
//   - struct{} stands for none: the input is ignored, and there is no result;
//   - [json.RawMessage] and []byte are the JSON text itself, unread and unchanged. An empty result means none.
func HandlerOf[I, O any](handle func(ctx context.Context, input I) (O, error)) Handler {
	return func(ctx context.Context, run *Run) (any, error) {
		var input I
		if err := decodeInput(run, &input); err != nil {
			return nil, err
		}
		output, err := handle(ctx, input)
		return plain(output), err
	}
}

func decodeInput(run *Run, into any) error {
	switch into := into.(type) {
	case *struct{}:
		return nil
	case *json.RawMessage:
		*into = run.Input
		return nil
	case *[]byte:
		*into = run.Input
		return nil
	}
	return run.Decode(into)
}

// plain returns a value that encodeResult encodes correctly.
func plain(output any) any {
	switch output := output.(type) {
	case struct{}:
		return nil
	case json.RawMessage:
		return textOrNone(output)
	case []byte:
		return textOrNone(output)
	}
	return output
}

func textOrNone(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	return text
}

// LastResult returns the result of the schedule's last success, for the handler that ctx belongs to. It may be a cursor, for example, from
// which the next run continues. It reports false if there is none. An error means that there is a result that does not fit T, or that was
// omitted because the request would have exceeded the size limit of a NATS message. In that case it may be wrong to start from the
// beginning.
func LastResult[T any](ctx context.Context) (result T, ok bool, err error) {
	run, ok := FromContext(ctx)
	switch {
	case !ok:
		return result, false, nil
	case run.LastSuccessOmitted:
		return result, false, errors.New("the last result was left out of the request, which would have been too large with it")
	}
	return decodeOptional[T]("last result", run.LastSuccess)
}

// LastHeartbeat returns the details of the newest heartbeat of an earlier attempt of the run, for the handler that ctx belongs to. The
// handler can continue from there. It reports false if none is known. See [Heartbeat].
func LastHeartbeat[T any](ctx context.Context) (details T, ok bool, err error) {
	run, ok := FromContext(ctx)
	if !ok {
		return details, false, nil
	}
	return decodeOptional[T]("last heartbeat", run.LastHeartbeat)
}

func decodeOptional[T any](what string, text json.RawMessage) (value T, ok bool, err error) {
	if len(text) == 0 {
		return value, false, nil
	}
	if err := json.Unmarshal(text, &value); err != nil {
		var none T
		return none, false, fmt.Errorf("the %s does not fit: %s", what, misfit(err))
	}
	return value, true, nil
}

// misfit says in terms of JSON why a text could not be read.
func misfit(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	text := "must be " + expected(wrong.Type) + ", not " + found(wrong.Value)
	if wrong.Field == "" {
		return "it " + text
	}
	return wrong.Field + " " + text
}

// expected says how a value of a type is written.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Interface, reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return "something else"
	}
	return "a whole number" + rangeOf(t)
}

// rangeOf returns the bounds of an integer type, if they are not obvious.
func rangeOf(t reflect.Type) string {
	unsigned := t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr
	switch {
	case unsigned && t.Bits() == 64:
		return ", 0 or more"
	case unsigned:
		return fmt.Sprintf(", 0 to %d", uint64(1)<<t.Bits()-1)
	case t.Bits() == 64:
		return ""
	}
	return fmt.Sprintf(", %d to %d", -int64(1)<<(t.Bits()-1), int64(1)<<(t.Bits()-1)-1)
}

// found puts the value that encoding/json names into words.
func found(value string) string {
	switch kind, rest, _ := strings.Cut(value, " "); {
	case rest != "":
		return rest // a number
	case kind == "bool":
		return "true or false"
	case kind == "object", kind == "array":
		return "an " + kind
	default:
		return "a " + kind
	}
}
