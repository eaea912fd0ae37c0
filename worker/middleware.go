package worker

import "slices"

// Middleware puts something around a handler: what is to happen before and after each attempt of each run, whatever its
// type. It is called once for each handler that is registered, before the first run; the handler it returns is called as
// handlers are. See [Config.Middleware].
type Middleware func(next Handler) Handler

// wrapped puts middleware around a handler, the first one outermost. It returns nil if one of them does.
func wrapped(handler Handler, middleware []Middleware) Handler {
	for _, m := range slices.Backward(middleware) {
		if handler = m(handler); handler == nil {
			return nil
		}
	}
	return handler
}
