package layer

// Match is the end of a path that a layer's rule matches.
type Match string

const (
	Prefix Match = "prefix" // /directory/**
	Suffix Match = "suffix" // **/name
)

func (Match) Values() []string { return []string{string(Prefix), string(Suffix)} }

// Action is the effect of a layer's rule on an operation that it matches, in vArmor's words.
type Action string

const (
	Deny  Action = "deny"
	Audit Action = "audit" // the operation is allowed, and counted or written to the kernel's log
	Allow Action = "allow" // the operation is allowed, and no other rule applies to it
)

func (Action) Values() []string { return []string{string(Deny), string(Audit), string(Allow)} }
