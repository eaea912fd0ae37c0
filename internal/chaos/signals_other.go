//go:build !unix

package chaos

import (
	"errors"
	"os"
)

// supported is why a run is not possible on this system; nil if it is.
var supported = errors.New("this system cannot suspend processes: run it on Linux or another Unix")

func suspend(*os.Process) error { return supported }

func resume(*os.Process) error { return supported }

func fill(*os.Process) error { return supported }

func empty(*os.Process) error { return supported }

func isFill(os.Signal) bool { return false }

func fillSignals() (signals <-chan os.Signal, stop func()) { return nil, func() {} }
