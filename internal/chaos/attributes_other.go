//go:build !linux

package chaos

import "syscall"

// childAttributes are the default: outside Linux, processes outlive this one if it is killed.
func childAttributes() *syscall.SysProcAttr { return nil }
