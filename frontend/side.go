package frontend

import (
	"cmp"
	"sync"
)

// sideBySide calls functions at once and waits for all of them. Of several errors it returns that of the first function in
// their order: what a request is answered must not depend on which of them was faster.
func sideBySide(functions ...func() error) error {
	errs := make([]error, len(functions))
	var running sync.WaitGroup
	for i, function := range functions {
		running.Go(func() { errs[i] = function() })
	}
	running.Wait()
	return cmp.Or(errs...)
}
