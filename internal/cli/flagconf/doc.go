// Package flagconf gives every flag of a command line two more sources: an environment variable and a configuration
// file. One mechanism walks the flags, so that no flag can be forgotten:
//
//	flag on the command line  >  environment variable  >  configuration file  >  default
//
// The variable of --log-level is CARILLON_LOG_LEVEL ([EnvName]), its key in the file is log-level. [AlsoEnv] names another program's variable. The file is YAML with
// one key for each setting, for all commands: a command takes the keys it has flags for, and a key that no command knows
// is an error that names the nearest one.
//
// [Apply] is called once, after the command line has been parsed and before the command runs. A flag set by any of the
// sources counts as changed, so a command can tell "given" from "default" without knowing the source; [SourceOf] knows it.
//
// The package imports nothing of Carillon.
package flagconf
