package launch

// ConfigurationHelp explains which configuration files and variables apply.
const ConfigurationHelp = `Your configuration file is the first of:

  1. the file named by --config
  2. the file named by the environment variable CODEMODE_CONFIG
  3. codemode/codemode.json in your configuration folder
     (on Linux ~/.config/codemode/codemode.json), if it exists
  4. none: the variables below are the configuration, as the profile environment; without
     them only the built-in servers exist, and codemode_eval is unrestricted

Other files apply beside it:

  /etc/codemode/managed.json     the administrator of the machine writes it (or the file named
                                 by CODEMODE_MANAGED, if that one does not exist).
                                 Nothing loosens it, and its floor binds everything.
  .codemode.json                 in the current folder, or the file named by --project
                                 ("--project none" for none): a project's rules. They
                                 only tighten yours, and its servers are not started,
                                 until you trust the file with its present content:
                                 codemode profiles trust .codemode.json
  overlays.json                  beside your file: overlays that narrow single sessions,
                                 callers or programs, as an admin page writes them.

Anybody may have written the current folder: a file in it can take powers away, and
never give any.

The folder of the built-in filesystem server must not contain any of these files, existing
or not, nor the state, the cache, saved programs, or what starts a server. codemode refuses
a folder that does.

Environment variables decide too:

  CODEMODE_ALLOWLIST, CODEMODE_ASKLIST, CODEMODE_DENYLIST
                                 patterns for tools, separated by commas or spaces
  CODEMODE_UNMATCHED             deny, ask or allow: the verdict on tools that no
                                 list names; deny if there is an allowlist, else allow
  CODEMODE_ASK_TIMEOUT           how long a question waits, such as 90s
  CODEMODE_STATE                 the folder for the record and other state,
                                 as --state names it; an absolute path

Beside your file or a managed file the first five bind every profile: they deny and ask
more, and allow nothing that the files do not.

CODEMODE_SESSION names the session that programs run in, such as one that was created on the
page for a role (cms_...). docs/reference/configuration.md has every key; codemode profiles schema
prints the JSON Schema for editors.`
