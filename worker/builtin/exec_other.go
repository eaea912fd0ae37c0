//go:build !unix

package builtin

import "os/exec"

// runGroup runs a program, and kills it when the context of the command ends. There are no process groups here.
func runGroup(cmd *exec.Cmd) error { return cmd.Run() }
