from tramontane.campaign import rules as campaign

files = campaign.Rules()


wildcard_constraints:
    scale=campaign.SCALES,
    experiment=campaign.EXPERIMENT,
    sheet=campaign.SHEET,
    study=campaign.STUDY,
    batch=campaign.BATCH,
