var rule: boolean;
