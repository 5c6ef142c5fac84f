"""Phrases that no text of the project uses, each with what to write instead.

They are translated word by word or are private terms of an earlier version. The list is short on purpose: it holds what
has no proper use in a technical text. CONTRIBUTING ("Language") has the rules.
"""

FORBIDDEN = {
    r"\bis there twice\b": "duplicate …",
    r"\bnobody (?:knows|says|said|has|may|can|reads|asked)\b": "unknown, not specified, no user …",
    r"\b(?:is|was|are|were) said\b": "is specified, is reported, is documented",
    r"\bas said\b|\bsaid before\b": "as described, reported before",
    r"\bcured?\b|\bcures\b|\bmend(?:s|ed|ing)?\b|\bheal(?:s|ed|ing)\b": "fix",
    r"\bremed(?:y|ies)\b": "fix, suggestion",
    r"\bwhose turn\b": "priority, order",
    r"\bno (?:machine|switch|pool|network|fleet|cluster|engine|tenant) is called\b": "unknown machine '…'",
    r"\b(?:is|are) no (?:folder|file|name|program|number|list|object|address|host|node|job)s?\b": "not a …",
    r"\b(?:is|are) no (?:key|quantity|instance|network|rate)s?\b": "not a …",
    r"\bput back\b|\bgiven back\b|\bgives? back\b": "restore, requeue, release",
    r"\bhand(?:s|ed|ing)? over\b|\bhand-over\b": "submit",
    r"\btakes? no (?:work|part)\b": "is not schedulable, is excluded",
    r"\banew\b": "again, or name the new thing",
    r"\bmakers?'?s?\b": "vendor",
    r"\btold (?:of|that)\b": "notified, reported",
    r"\bby and by\b|\ball the same\b|\bso to speak\b": "leave it out",
    r"\bdear(?:er|est)\b": "more expensive",
    r"\btension\b": "electric potential, voltage",
    r"\bordinary network\b": "in-band network, network of the cloud",
}
